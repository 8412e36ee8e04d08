// The commands that run one of Pawl's processes (`pawl worker`, `pawl bridge`): they pass every argument on.

import { Command } from 'commander'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { childEnvironment } from '../config.ts'

/** @param entry the file below worker/ that has the process's `main`. */
export function processCommand(name: string, entry: string, description: string): Command {
  return new Command(name)
    .description(description)
    .helpOption(false)
    .allowUnknownOption()
    .argument('[arguments...]', 'passed on')
    .action(async (passed: readonly string[]) => {
      const path = fileURLToPath(new URL(`../${entry}`, import.meta.url))
      const child = spawn(process.execPath, [path, ...passed], { stdio: 'inherit', env: childEnvironment() })
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
      const [code] = (await once(child, 'exit')) as [number | null]
      process.exitCode = code ?? 1
    })
}
