/** The demo's real system in a process of its own, which answers its parent's question of how much it holds. Started with --expose-gc. */
process.on('message', (question) => {
  if (question !== 'measure') return;
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.send?.({ heapBytes: heapUsed + external, handles: process.getActiveResourcesInfo().length });
});
// Its parent is gone, and with it the services it needs.
process.on('disconnect', () => process.exit(1));
// The channel alone must not keep the process alive.
process.channel?.unref();
await import('../real.ts');
