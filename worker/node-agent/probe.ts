// A probe of a running container. Checks run in the background, so they never delay signals.

import { execFile } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'

import type { HttpTarget, ProbeSpec } from './agent-pod.ts'

export interface ProbeTarget {
  readonly podIP: string
  readonly exec: (command: readonly string[]) => {
    readonly argv: readonly string[]
    readonly env: Readonly<Record<string, string>>
    readonly cwd: string
  }
}

export class Probe {
  readonly spec: ProbeSpec
  /** The present result. */
  succeeds: boolean
  /** Whether any threshold was reached. */
  isDecided = false
  private readonly check: () => Promise<boolean>
  private readonly onChange: () => void
  private isChecking = false
  private checkedMs: number | undefined
  /** Consecutive results that differ from `succeeds`, or equal it before the first decision. */
  private streak = { isSuccess: false, count: 0 }

  /** @param initially the result before the first decision. */
  constructor(spec: ProbeSpec, initially: boolean, check: () => Promise<boolean>, onChange: () => void) {
    this.spec = spec
    this.succeeds = initially
    this.check = check
    this.onChange = onChange
  }

  /** Starts a check if the period has passed. @param sinceMs when the container started, or its startup probe succeeded. */
  poll(sinceMs: number, nowMs: number): void {
    const { initialDelayMs, periodMs } = this.spec
    const dueMs = this.checkedMs === undefined ? sinceMs + initialDelayMs : this.checkedMs + periodMs
    if (this.isChecking || nowMs < dueMs) return
    this.isChecking = true
    this.checkedMs = nowMs
    void this.check()
      .catch(() => false)
      .then((isSuccess) => {
        this.isChecking = false
        if (this.note(isSuccess)) this.onChange()
      })
  }

  /** Returns whether the result has changed. */
  note(isSuccess: boolean): boolean {
    const { successThreshold, failureThreshold } = this.spec
    this.streak = { isSuccess, count: this.streak.isSuccess === isSuccess ? this.streak.count + 1 : 1 }
    if (this.streak.count < (isSuccess ? successThreshold : failureThreshold)) return false
    const hasChanged = !this.isDecided || this.succeeds !== isSuccess
    this.isDecided = true
    this.succeeds = isSuccess
    return hasChanged
  }
}

/** Runs one check. */
export async function runCheck({ check, timeoutMs }: ProbeSpec, target: ProbeTarget): Promise<boolean> {
  switch (check.is) {
    case 'exec':
      return await runExec(target.exec(check.command), timeoutMs)
    case 'http':
      return await runHttp(check.url, target.podIP, timeoutMs)
    case 'tcp':
      return await runTcp(check.host ?? target.podIP, check.port, timeoutMs)
    case 'unsupported':
      return false
  }
}

function runExec({ argv, env, cwd }: ReturnType<ProbeTarget['exec']>, timeoutMs: number): Promise<boolean> {
  const [program = '', ...args] = argv
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd, timeout: timeoutMs, killSignal: 'SIGKILL' }, (error) => resolve(error === null))
  })
}

function runHttp(url: HttpTarget, podIP: string, timeoutMs: number): Promise<boolean> {
  const { scheme, host = podIP, port, path, headers } = url
  // As the kubelet, it does not verify certificates of pods.
  const options = { host, port, path, headers, agent: false, signal: AbortSignal.timeout(timeoutMs) }
  return new Promise((resolve) => {
    const call = scheme === 'https' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options)
    call.once('response', (response) => {
      response.resume()
      const { statusCode = 0 } = response
      resolve(statusCode >= 200 && statusCode < 400)
    })
    call.once('error', () => resolve(false))
    call.end()
  })
}

function runTcp(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs })
    const end = (isSuccess: boolean) => {
      socket.destroy()
      resolve(isSuccess)
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}
