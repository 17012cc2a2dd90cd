"""Where tables come from: one file a source; a new file here is found without any list being edited."""
