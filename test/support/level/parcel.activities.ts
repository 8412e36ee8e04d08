// The activity of parcels: a hash, which the workflow sandbox lacks.

import { createHash } from 'node:crypto'

/** The SHA-256 of a text. @throws with the text, as a careless program does, when it says so. */
export async function fingerprint({ text }: { readonly text: string }): Promise<string> {
  if (text.includes('wrong')) throw new Error(`what is the hash of ${text}?`)
  return await Promise.resolve(createHash('sha256').update(text).digest('hex'))
}
