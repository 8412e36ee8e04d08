// The file of `fileconfigure`: the format of `cluster.configuration` of status. Source: fdb-recordings 10/104..112.

import { readConfigurationWords } from '../core/configuration.ts'
import type { Host } from './context.ts'

interface Refused {
  readonly error: string
  readonly stream: 'stdout' | 'stderr'
}

/** Names that are words by themselves. */
const WORDS: readonly string[] = ['redundancy_mode', 'storage_engine']
/** Written with `:=` on the command line. */
const SPECIAL: readonly string[] = ['log_spill', 'log_version', 'log_engine', 'backup_worker_enabled']
const IGNORED: readonly string[] = ['perpetual_storage_wiggle_engine', 'perpetual_storage_wiggle_locality', 'proxies']

export function readConfigurationFile(
  { readFile }: Host,
  path: string,
): { readonly changes: readonly (readonly [string, string])[] } | Refused {
  let text: string
  try {
    text = readFile(path)
  } catch {
    return { error: 'File could not be read (1513)', stream: 'stderr' }
  }
  const document = parseObject(text)
  if (document === undefined) return { error: 'Invalid JSON', stream: 'stderr' }
  const words: string[] = []
  for (const [key, value] of Object.entries(document)) {
    if (IGNORED.includes(key)) continue
    const word = wordOf(key, value)
    if (!readConfigurationWords([word]).valid) return { error: `Unknown key \`.${key}'`, stream: 'stdout' }
    words.push(word)
  }
  return { changes: [...readConfigurationWords(words).changes] }
}

function wordOf(key: string, value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (WORDS.includes(key)) return text
  return SPECIAL.includes(key) ? `${key}:=${text}` : `${key}=${text}`
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
