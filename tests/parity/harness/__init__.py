"""Runs PyTorch's own test databases on the CPU and on the device, and compares."""
