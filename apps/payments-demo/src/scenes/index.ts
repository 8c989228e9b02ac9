import { churn } from './churn.ts';
import { deliveryTimeout } from './delivery-timeout.ts';
import { expiry } from './expiry.ts';
import { fenced } from './fenced.ts';
import { fiveInFlight } from './five-in-flight.ts';
import { noSilentFallback } from './no-silent-fallback.ts';
import type { Scene } from './stage.ts';
import { storm } from './storm.ts';
import { theBoundaryClosed } from './the-boundary-closed.ts';
import { theProblem } from './the-problem.ts';
import { workedExample } from './worked-example.ts';

/** In the order of the walkthrough; a scene's number is its place here. */
export const scenes: readonly Scene[] = [
  theProblem,
  workedExample,
  deliveryTimeout,
  fiveInFlight,
  noSilentFallback,
  fenced,
  expiry,
  churn,
  storm,
  theBoundaryClosed,
];
