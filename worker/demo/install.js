// Shared by `npm test` and `npm run demo`: installs the packages of a checkout without node_modules. Works with Node 20
// or newer.
//
// JavaScript with built-in modules only, because no package is installed yet.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const node = join(root, 'node_modules', 'node', 'bin', 'node')

/** Installs the packages of package-lock.json unless they are installed already. */
export async function install() {
  if (isInstalled()) return
  process.stdout.write('installing packages (npm ci)\n')
  const code = await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  if (code !== 0 || !existsSync(node)) throw new Error(`npm ci ended with exit code ${code}; expected 0 and ${node}`)
}

/**
 * Runs a program in the checkout with this process's input and output and forwards this process's signals to it.
 * Resolves with the program's exit code.
 */
export function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit' })
    const forward = (name) => child.kill(name)
    const names = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const name of names) process.on(name, forward)
    child.once('error', reject)
    child.once('exit', (code, name) => {
      for (const other of names) process.off(other, forward)
      resolve(code ?? 128 + (constants.signals[name] ?? 0))
    })
  })
}

/** Whether all packages of the lock file except optional ones are installed in the locked version. */
function isInstalled() {
  if (!existsSync(node)) return false
  try {
    const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
    const found = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages
    return Object.entries(wanted).every(
      ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
    )
  } catch {
    return false
  }
}
