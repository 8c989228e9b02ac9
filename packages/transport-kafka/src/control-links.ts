import { TransportError } from '@sendonce/producer-core/transport';
import type { BrokerLink } from './connection/broker-link.ts';
import { addressText, type BrokerAddress } from './connection/connection-opener.ts';

/** Where the addresses come from: what metadata told last, and the list to start from. */
export interface AddressBook {
  known(): readonly BrokerAddress[];
  bootstrap(): Promise<readonly BrokerAddress[]>;
}

/**
 * Connections for everything but produce requests, so that neither holds up the other. Any broker can answer these requests:
 * the one that served last is asked again, until it fails.
 */
export class ControlLinks {
  readonly #book: AddressBook;
  readonly #createLink: (address: BrokerAddress) => BrokerLink;
  readonly #nowMs: () => number;
  readonly #links = new Map<string, BrokerLink>();
  /** The link that served last. */
  #preferred: BrokerLink | undefined;

  constructor(book: AddressBook, createLink: (address: BrokerAddress) => BrokerLink, nowMs: () => number) {
    this.#book = book;
    this.#createLink = createLink;
    this.#nowMs = nowMs;
  }

  /**
   * A connected link: the preferred one, else the first of all addresses that lets itself be opened. Wrong credentials end the
   * search at once, since every broker would count another failed login.
   */
  async connected(signal?: AbortSignal): Promise<BrokerLink> {
    if (this.#preferred?.isConnected) return this.#preferred;
    const startedMs = this.#nowMs();
    const failures = new Map<string, TransportError>();
    for (const address of await this.#candidates()) {
      signal?.throwIfAborted();
      const link = this.#linkTo(address);
      try {
        await link.connect();
        this.#preferred = link;
        return link;
      } catch (error) {
        if (
          !(error instanceof TransportError) ||
          error.code === 'AUTHENTICATION_FAILED' ||
          error.code === 'TRANSPORT_CLOSED'
        )
          throw error;
        failures.set(link.address, error);
      }
    }
    throw noBrokerReachable(failures, this.#nowMs() - startedMs);
  }

  /** A request on this link failed: the next one goes to another broker if there is one. */
  avoid(link: BrokerLink): void {
    if (this.#preferred === link) this.#preferred = undefined;
    // Moved to the end of the map: candidates are tried in its order.
    this.#links.delete(link.address);
    this.#links.set(link.address, link);
  }

  /** Closes links to addresses that are in no list any more. */
  async prune(): Promise<void> {
    const addresses = [...this.#book.known(), ...(await this.#book.bootstrap())].map(addressText);
    for (const [address, link] of this.#links) {
      if (addresses.includes(address) || link === this.#preferred) continue;
      link.close();
      this.#links.delete(address);
    }
  }

  close(): void {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
  }

  /** Brokers that metadata told come before the bootstrap list; those that failed last come at the end of each. */
  async #candidates(): Promise<BrokerAddress[]> {
    const triedOrder = [...this.#links.keys()];
    const byFreshness = (a: BrokerAddress, b: BrokerAddress) =>
      triedOrder.indexOf(addressText(a)) - triedOrder.indexOf(addressText(b));
    const candidates = [...this.#book.known()].sort(byFreshness);
    const seen = new Set(candidates.map(addressText));
    for (const address of [...(await this.#book.bootstrap())].sort(byFreshness)) {
      if (!seen.has(addressText(address))) candidates.push(address);
      seen.add(addressText(address));
    }
    return candidates;
  }

  #linkTo(address: BrokerAddress): BrokerLink {
    const text = addressText(address);
    let link = this.#links.get(text);
    if (!link) {
      link = this.#createLink(address);
      this.#links.set(text, link);
    }
    return link;
  }
}

function noBrokerReachable(failures: ReadonlyMap<string, TransportError>, elapsedMs: number): TransportError {
  const lines = [...failures].map(([address, error]) => `${address} (${error.message})`);
  return new TransportError(
    `No broker could be reached within ${Math.round(elapsedMs)} ms. Tried: ${lines.join('; ')}`,
    {
      sent: 'no',
      code: 'NO_BROKER_REACHABLE',
      cause: new AggregateError([...failures.values()], 'each address failed'),
    },
  );
}
