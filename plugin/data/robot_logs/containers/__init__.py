"""Files that robots and recorders write: MCAP, rosbag2, ROS 1 bags, tables."""
