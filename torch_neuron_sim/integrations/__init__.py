"""What other libraries need to be told of the device. Each module imports its library, so import only what you use."""
