// The operators' configuration, as a file.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @returns its path. */
export function configFile(folder: string, config: object): string {
  const path = join(folder, 'chaos-config.yaml')
  writeFileSync(path, JSON.stringify(config))
  return path
}
