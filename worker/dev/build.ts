// Builds a server binary from its pinned Go module under deploy/binaries/: the way out where no release can be downloaded.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { childEnvironment } from '../server/config.ts'
import { BINARIES_DIR, type Pin } from './pins.ts'

/**
 * Builds the binary to `path` with the `go` found on the search path.
 *
 * @throws when Go is missing, older than the module needs, or the build fails (with the end of its output).
 */
export async function build(pin: Pin, path: string, searchPath: readonly string[]): Promise<void> {
  const go = goIn(fileURLToPath(new URL(`${pin.go.module}/`, BINARIES_DIR)), searchPath)
  await checkGo(go)
  const ldflags = `-s -w ${pin.go.ldflags ?? ''}`.trim()
  // -mod=readonly: a checkout is not changed by using it. No VCS stamp: the checkout's commit says nothing about these programs.
  const flags = ['-mod=readonly', '-buildvcs=false', '-trimpath', '-ldflags', ldflags]
  await go(['build', ...flags, '-o', path, pin.go.package])
}

type Go = (args: readonly string[]) => Promise<void>

async function checkGo(go: Go): Promise<void> {
  try {
    // Inside the module the command itself refuses a go.mod that asks for more, or fetches the toolchain where that is allowed.
    await go(['version'])
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') throw new Error('go is not installed')
    throw error
  }
}

function goIn(dir: string, searchPath: readonly string[]): Go {
  const env = childEnvironment({ PATH: searchPath.join(':'), CGO_ENABLED: '0', GOFLAGS: '' })
  return (args) =>
    new Promise((resolve, reject) => {
      const child = spawn('go', args, { cwd: dir, env, stdio: ['ignore', 'ignore', 'pipe'] })
      // An interrupted pawl leaves no compiler behind.
      const kill = () => child.kill()
      process.once('exit', kill)
      let tail = ''
      child.stderr.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-2000)))
      child.once('error', reject)
      child.once('close', (code) => {
        process.off('exit', kill)
        if (code === 0) resolve()
        else reject(new Error(`go ${args[0] ?? ''} in ${dir} ended with ${code ?? 'a signal'}: ${lastLines(tail)}`))
      })
    })
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join('; ')
}
