// Enables Node's compile cache. Without it, half of a query command's time goes into compiling modules.

import { existsSync, mkdirSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Without a writable folder, Node compiles the modules each time. @param cacheDir created if its parent folder exists.
 */
export function useCompileCache(cacheDir: string): void {
  try {
    // One level only: on some file systems Node's recursive mkdir never returns.
    if (existsSync(dirname(cacheDir)) && !existsSync(cacheDir)) mkdirSync(cacheDir)
  } catch {
    // Read-only, or another process created it.
  }
  if (existsSync(cacheDir)) enableCompileCache(join(cacheDir, 'compiled'))
}
