"""Why a replay differs: one difference undone at a time, joint orders tried out."""
