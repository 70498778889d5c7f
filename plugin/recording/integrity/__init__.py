"""What files of numbers are trusted with: regular ones, of bounded size, with checksums."""
