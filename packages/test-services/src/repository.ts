import { join } from 'node:path';

/** Git ignores these two: downloads that are kept, and the data of services while they run. */
const repositoryRoot = join(import.meta.dirname, '..', '..', '..');
export const cacheFolder = join(repositoryRoot, '.cache');
export const servicesFolder = join(repositoryRoot, '.services');
