"""The laws behind `mercer.testing`: one file for each kind of object."""
