// How Node is called for one of Pawl's processes.

import { fileURLToPath } from 'node:url'

/** Arguments of Node for the process whose `main` is in this file of worker/, with its flags. */
export function processArgs(file: string, flags: readonly string[]): string[] {
  const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
  const isFast = file === 'reconciler.ts' && !flags.includes('--call-stacks=yes')
  return [...(isFast ? ['--import', at('reconciler/without-call-stacks.ts')] : []), at(file), ...flags]
}
