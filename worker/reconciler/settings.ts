// The worker's settings, from flags and environment; wrong ones end the process with what was found and what was expected.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Config } from '../config.ts'
import type { DispatcherOptions } from './dispatcher.ts'

type Flags = Readonly<Record<string, string | undefined>>

export interface ReconcilerSettings {
  readonly kubeconfigPath: string | undefined
  readonly databaseUrl: string
  readonly temporalAddress: string
  readonly temporalNamespace: string
  readonly taskQueue: string
  readonly cluster: string
  readonly contentKeyPath: string | undefined
  /** A prebuilt bundle of workflows/index.ts; without it one is built at start. */
  readonly workflowBundle: string | undefined
  readonly healthPort: number
  readonly sweepMs: number
  readonly stickyTimeoutMs: number
  readonly dispatcher: DispatcherOptions
}

/** @throws with the name of the flag, what was found and what was expected. */
export function reconcilerSettings(flags: Flags, config: Config): ReconcilerSettings {
  const cluster = flags['cluster'] ?? 'local'
  const taskQueue = flags['task-queue'] ?? 'pawl'
  return {
    kubeconfigPath: flags['kubeconfig'] ?? config.kubeconfig,
    databaseUrl: needed(
      flags['database-url'] ?? config.databaseUrl,
      '--database-url',
      'the URL of a PostgreSQL database',
    ),
    temporalAddress: needed(
      flags['temporal-address'] ?? config.temporalAddress,
      '--temporal-address',
      'host:port of a Temporal service',
    ),
    temporalNamespace: flags['temporal-namespace'] ?? config.temporalNamespace,
    taskQueue,
    cluster,
    contentKeyPath: flags['content-key'] ?? config.contentKeyPath,
    workflowBundle: flags['workflow-bundle'],
    healthPort: number(flags, 'health-port', 0, 0),
    sweepMs: number(flags, 'sweep-ms', 60_000, 100),
    // Work waits this long on the queue of a worker that died (spec/engine.md 1.5).
    stickyTimeoutMs: number(flags, 'sticky-timeout-ms', 4000, 100),
    dispatcher: {
      owner: `${hostname()}/${process.pid}/${randomUUID()}`,
      cluster,
      taskQueue,
      slots: number(flags, 'dispatch-slots', 20, 1),
      leaseMs: number(flags, 'wake-lease-ms', 10_000, 100),
      idleMs: 5000,
      workflowTaskTimeoutMs: number(flags, 'workflow-task-timeout-ms', 10_000, 1000),
    },
  }
}

function needed(value: string | undefined, flag: string, expected: string): string {
  if (value === undefined || value === '') throw new Error(`${flag} is missing; expected ${expected}`)
  return value
}

function number(flags: Flags, flag: string, fallback: number, least: number): number {
  const text = flags[flag]
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < least)
    throw new Error(`--${flag} is "${text}"; expected a whole number of at least ${least}`)
  return value
}
