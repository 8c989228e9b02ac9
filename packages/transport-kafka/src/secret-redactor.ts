import type { Mechanism, SASLOptions } from 'kafkajs';

/** Fields of `sasl` that say who somebody is, not what only they know. */
const publicFields = new Set(['mechanism', 'username', 'authorizationIdentity']);
const shortestSecret = 3;

/** Takes secrets out of texts that come from elsewhere: the broker's, kafkajs's, or a token provider's own. */
export class SecretRedactor {
  readonly #secrets = new Set<string>();

  /** A copy of `sasl` that tells this redactor about every secret that passes. kafkajs also adds a field to what it is given. */
  watch(sasl: SASLOptions | Mechanism): SASLOptions | Mechanism {
    const copy: Record<string, unknown> = { ...sasl };
    for (const [field, value] of Object.entries(copy)) {
      if (typeof value === 'string' && !publicFields.has(field)) this.#add(value);
    }
    if ('oauthBearerProvider' in sasl) {
      copy.oauthBearerProvider = async () => {
        const token = await sasl.oauthBearerProvider();
        this.#add(token.value);
        return token;
      };
    }
    return copy as unknown as SASLOptions | Mechanism;
  }

  redact(text: string): string {
    let clean = text;
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, '***');
    return clean;
  }

  #add(secret: string): void {
    if (secret.length < shortestSecret) return;
    this.#secrets.add(secret);
    this.#secrets.add(Buffer.from(secret).toString('base64'));
  }
}
