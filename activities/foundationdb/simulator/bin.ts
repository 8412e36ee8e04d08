// Writes a folder of executables of the simulator, which can stand where a FoundationDB installation is expected.
//
// B1. Each executable is a shell script that becomes Node (`exec`), so its PID is the one of the tool.
// B2. Node caches the compiled modules in its directory for all programs, so only the first start on a machine compiles them.
// B3. A file appears complete, and stays the same when it is written again: another process may be starting it.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

import { DEFAULT_VERSION } from './version.ts'

/** The module of each tool. It exports `start`. */
const TOOLS: Readonly<Record<string, string>> = {
  backup_agent: './backup/start-backup-agent.ts',
  fdbbackup: './backup/start-fdbbackup.ts',
  fdbcli: './cli/start.ts',
  fdbmonitor: './monitor/start.ts',
  fdbrestore: './backup/start-fdbrestore.ts',
  fdbserver: './server/start.ts',
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Modules have the ending of this one: `.ts` in the sources, `.js` in the package. */
function moduleUrl(path: string): string {
  const ending = import.meta.filename.endsWith('.ts') ? '.ts' : '.js'
  return pathToFileURL(join(import.meta.dirname, path.replace(/\.ts$/, ending))).href
}

/**
 * Writes the executables into `folder`, which is created. `node`: the path of Node. `version`: what the tools report.
 * @returns the absolute path of the folder.
 */
export function writeExecutables(folder: string, node: string, version: string = DEFAULT_VERSION): string {
  const target = resolve(folder)
  mkdirSync(join(target, 'lib'), { recursive: true })
  for (const [name, path] of Object.entries(TOOLS)) {
    const script = join(target, 'lib', `${name}.mjs`)
    writeOnce(script, scriptText(moduleUrl(path), version))
    // Status shows the path by which fdbserver was started.
    const command = `FDB_SIM_PROGRAM="$0" exec ${quoted(node)} --disable-warning=ExperimentalWarning ${quoted(script)} "$@"`
    writeOnce(join(target, name), `#!/bin/sh\n${command}\n`)
  }
  return target
}

/** B3 */
function writeOnce(file: string, text: string): void {
  if (readIfPresent(file) === text) return
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode: 0o755 })
  renameSync(draft, file)
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function scriptText(url: string, version: string): string {
  return `import { enableCompileCache } from 'node:module'
enableCompileCache()
const { start } = await import(${JSON.stringify(url)})
const code = await start(process, ${JSON.stringify(version)})
const flushed = (stream) => new Promise((resolve) => stream.write('', resolve))
await flushed(process.stdout)
await flushed(process.stderr)
if (code < 0) process.kill(process.pid, -code)
else process.exit(code)
`
}
