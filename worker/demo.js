// `npm run demo`: from a fresh clone to a tour of Pawl on real servers. See demo/tour.ts for what it shows.

import { fileURLToPath } from 'node:url'

import { install, node, run } from './demo/install.js'

try {
  await install()
  process.exitCode = await run(node, [
    fileURLToPath(new URL('demo/tour.ts', import.meta.url)),
    ...process.argv.slice(2),
  ])
} catch (error) {
  process.stderr.write(`npm run demo: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
