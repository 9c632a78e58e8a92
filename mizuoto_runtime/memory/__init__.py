"""Where weights are: on the device, in host memory, or on the way. See README.md in this folder for the words used."""
