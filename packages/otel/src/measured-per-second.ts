/**
 * Events of a kind a second whose time or size goes into a histogram; above, every n-th. Each costs tens of microseconds, since code
 * that runs so rarely is never compiled, and fifteen hundred a minute are plenty for a percentile.
 */
export const measuredPerSecond = 25;
