"""Saved views: filters under a name, one small file each, to keep and to hand on."""
