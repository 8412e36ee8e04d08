// A short name for the content of settings. Pods carry it, so that other settings are other Pods: a Deployment replaces them in turn.

/** The same for the same settings, in whatever order they are written. FNV-1a, 32 bits: nobody gains by a collision here. */
export function settingsHash(settings: Readonly<Record<string, string>>): string {
  const text = JSON.stringify(Object.entries(settings).sort(([left], [right]) => (left < right ? -1 : 1)))
  let hash = 0x811c9dc5
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0
  return hash.toString(16).padStart(8, '0')
}
