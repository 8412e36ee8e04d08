// Runs the node agent as a process that starts no injectors: chaos pods are ready at once and complete normally.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'

const PROGRAM = new URL('../../../worker/program.ts', import.meta.url).pathname

export interface PlayedAgentOptions {
  readonly kubeconfigPath: string
  /** The folder of its log file. */
  readonly folder: string
  /** Names of nodes, separated by commas, or `all`. */
  readonly nodes: string
}

export class PlayedAgent {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static start({ kubeconfigPath, folder, nodes }: PlayedAgentOptions): PlayedAgent {
    const log = openSync(join(folder, 'played-agent.log'), 'w')
    const flags = ['--nodes', nodes, '--play', 'ready', '--kubeconfig', kubeconfigPath]
    const child = spawn(process.execPath, [PROGRAM, 'node-agent', ...flags], { stdio: ['ignore', log, log] })
    closeSync(log)
    return new PlayedAgent(child)
  }

  async stop(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
}
