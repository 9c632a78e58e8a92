"""Network blocks that engines share. Knows `ops`, `attention` and `errors`; never `memory`."""
