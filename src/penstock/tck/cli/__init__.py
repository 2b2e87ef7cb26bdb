"""cli: `penstock verify`."""
