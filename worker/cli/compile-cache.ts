// What Node has compiled is kept for the next command: half of the time in which a question is answered would go into compiling the same again.

import { existsSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'

/** Where nothing can be kept, everything is compiled each time. @param cacheDir made where the folder that it is in is there. */
export function useCompileCache(cacheDir: string): void {
  try {
    // Step by step: in some file systems Node never ends making several folders at once.
    if (existsSync(dirname(cacheDir)) && !existsSync(cacheDir)) mkdirSync(cacheDir)
  } catch {
    // Read-only, or another process has made it.
  }
  if (existsSync(cacheDir)) enableCompileCache(join(cacheDir, 'compiled'))
}
