// Addresses of pods on the loopback device: Linux accepts all of 127.0.0.0/8 without configuration.

import { createHash } from 'node:crypto'

const FIRST = 64
const LAST = 127

/**
 * The address of a pod in 127.64.0.0/10, by its uid, so that pods get the same address again and new pods seldom get
 * the address of a deleted one.
 *
 * @param used addresses of other pods of this machine.
 */
export function podAddress(uid: string, used: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt++) {
    const [b = 0, c = 0, d = 0] = createHash('sha256').update(`${uid}/${attempt}`).digest()
    const address = `127.${FIRST + (b % (LAST - FIRST + 1))}.${c}.${1 + (d % 254)}`
    if (!used.has(address)) return address
  }
}
