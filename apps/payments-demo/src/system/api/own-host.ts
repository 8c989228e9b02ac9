const ownNames = /^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/;

/** Whether a request was meant for this machine. Another site's name that was made to point here (DNS rebinding) still says its own name. */
export function isOwnHost(host: string | undefined): boolean {
  return host !== undefined && ownNames.test(host);
}
