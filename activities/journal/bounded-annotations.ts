// Annotations as the journal keeps them: Kubernetes takes 256 kB of them, and every event would repeat what a projection has of that.

import { createHash } from 'node:crypto'
import { path, type Projection, valueAt } from '../../workflows/kit/index.ts'

// What anything decides by is shorter; the longest is `pawl.dev/made-for`, of at most 635 characters.
const LONGEST = 1024

/** The projection with a hash in place of each value that is too long to be kept: it is told apart from others, and says no more. */
export function withBoundAnnotations(projection: Projection): Projection {
  const annotations = valueAt(projection, path('metadata.annotations'))
  if (typeof annotations !== 'object' || annotations === null) return projection
  const entries = Object.entries(annotations)
  if (entries.every(([, value]) => !isTooLong(value))) return projection
  const bound = Object.fromEntries(entries.map(([key, value]) => [key, isTooLong(value) ? hashed(value) : value]))
  return { ...projection, metadata: { ...(projection['metadata'] as object), annotations: bound } }
}

function isTooLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > LONGEST
}

/** Nothing that long can be guessed, so the hash needs no key. */
function hashed(value: string): string {
  return `${value.length} characters, SHA-256 ${createHash('sha256').update(value).digest('base64url')}`
}
