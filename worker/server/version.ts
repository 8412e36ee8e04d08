// The version of this package.

import { readFileSync } from 'node:fs'

const path = new URL('../../package.json', import.meta.url)

export const { version: PAWL_VERSION } = JSON.parse(readFileSync(path, 'utf8')) as { readonly version: string }
