// Reads and writes `state.json`, which describes the running servers of a data folder. It exists while all servers are
// ready.

import { existsSync } from 'node:fs'
import { rename, rm, writeFile, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'

import { isRunning, type ProcessIdentity } from '../server/process-identity.ts'

const PROBE_LIMIT_MS = 3000

export interface PartState {
  readonly name: string
  /** Null for the user's own server. */
  readonly process: ProcessIdentity | null
  readonly address: string | null
  readonly logFile: string | null
}

export interface DevState {
  readonly dataDir: string
  readonly supervisor: ProcessIdentity
  readonly startedAt: string
  readonly ephemeral: boolean
  readonly kubeconfig: string
  readonly kubectl: string
  readonly temporalUi: string | null
  readonly parts: readonly PartState[]
}

export interface PartStatus {
  readonly name: string
  readonly up: boolean
  readonly address: string | null
  readonly pid: number | null
  readonly logFile: string | null
}

export interface DevStatus {
  /** True if the supervisor and all servers are up. */
  readonly up: boolean
  readonly dataDir: string
  readonly kubeconfig: string | null
  readonly kubectl: string | null
  readonly temporalUi: string | null
  readonly parts: readonly PartStatus[]
}

export async function writeState(state: DevState): Promise<void> {
  const path = join(state.dataDir, 'state.json')
  await writeFile(`${path}.part`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.part`, path)
}

export async function removeState(dataDir: string): Promise<void> {
  await rm(join(dataDir, 'state.json'), { force: true })
}

/** The state of a data folder; undefined if its supervisor does not run. */
export async function readState(dataDir: string): Promise<DevState | undefined> {
  const text = await readFile(join(dataDir, 'state.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const state = JSON.parse(text) as DevState
  return isRunning(state.supervisor) ? state : undefined
}

/** Checks each server: its process, and whether its address accepts connections. */
export async function readStatus(dataDir: string): Promise<DevStatus> {
  const state = await readState(dataDir)
  if (state === undefined) return { up: false, dataDir, kubeconfig: null, kubectl: null, temporalUi: null, parts: [] }

  const parts = await Promise.all(
    state.parts.map(async ({ name, process, address, logFile }) => {
      const alive = process === null || isRunning(process)
      return { name, up: alive && (await accepts(address)), address, pid: process?.pid ?? null, logFile }
    }),
  )
  const { kubeconfig, kubectl, temporalUi } = state
  return { up: parts.every(({ up }) => up), dataDir, kubeconfig, kubectl, temporalUi, parts }
}

/** One line for each server with its process ID. */
export function formatStatus({ dataDir, parts, temporalUi, kubeconfig }: DevStatus): string {
  if (parts.length === 0) {
    const log = join(dataDir, 'logs', 'dev.log')
    return `no pawl dev runs for ${dataDir}${existsSync(log) ? `; log of the last one: ${log}` : ''}\n`
  }
  const width = Math.max(...parts.map(({ name }) => name.length))
  const lines = parts.map(({ name, up, address, pid }) =>
    `${up ? 'up  ' : 'DOWN'}  ${name.padEnd(width)}  pid ${String(pid ?? '-').padEnd(PID_WIDTH)}  ${address ?? ''}`.trimEnd(),
  )
  return `${[...lines, `temporal ui: ${temporalUi ?? '-'}`, `kubeconfig: ${kubeconfig ?? '-'}`].join('\n')}\n`
}

/** Linux has at most 4,194,304 processes. */
const PID_WIDTH = 7

/** True without an address, or if the address accepts a connection. */
async function accepts(address: string | null): Promise<boolean> {
  const place = address === null ? undefined : hostAndPort(address)
  if (place === undefined) return true
  return new Promise((resolve) => {
    const socket = connect({ ...place, timeout: PROBE_LIMIT_MS })
    const settle = (result: boolean) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () => settle(true))
    socket.once('timeout', () => settle(false))
    socket.once('error', () => settle(false))
  })
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const POSTGRES_PORT = 5432

function hostAndPort(address: string): { host: string; port: number } | undefined {
  const url = URL.parse(address.includes('://') ? address : `tcp://${address}`)
  if (url === null || url.hostname === '') return undefined
  const defaultPort = DEFAULT_PORTS[url.protocol] ?? POSTGRES_PORT
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port === '' ? defaultPort : Number(url.port) }
}
