/**
 * Events of a kind a second whose time or size goes into a histogram; above, every n-th. Each costs microseconds, and six thousand a minute
 * are plenty for a percentile.
 */
export const measuredPerSecond = 100;
