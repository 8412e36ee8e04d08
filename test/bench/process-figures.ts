// What a single process uses at this moment, by /proc.

import { readdirSync, readFileSync } from 'node:fs'

import { parseStat } from './processes.ts'

/** Since its start. */
export function cpuSecondsOf(pid: number): number {
  return parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'utf8'))?.cpuSeconds ?? NaN
}

export function residentMiB(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) / 1024
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}
