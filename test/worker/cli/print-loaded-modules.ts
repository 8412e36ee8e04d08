// Loaded before a command by `--import`: prints the URLs of all loaded modules in the last line of stderr.

import { registerHooks } from 'node:module'
import { writeSync } from 'node:fs'

const loaded = new Set<string>()
registerHooks({
  load: (url, context, next) => {
    if (url.startsWith('file:') && url !== import.meta.url) loaded.add(url)
    return next(url, context)
  },
})
process.on('exit', () => writeSync(2, `${JSON.stringify([...loaded])}\n`))
