// The pinned Debian packages of the image. Data: base-packages.json, written by pin-packages.ts.

import { readFileSync } from 'node:fs'

export const ARCHITECTURES = ['amd64', 'arm64'] as const
export type Architecture = (typeof ARCHITECTURES)[number]

export interface BasePackage {
  readonly name: string
  readonly version: string
  readonly url: string
  readonly sha256: string
}

export type BasePackages = Record<'runtime' | 'tools', Partial<Record<Architecture, readonly BasePackage[]>>> & {
  /** When the versions were read: the time of the snapshot that keeps them after Debian's mirrors delete them. */
  readonly snapshot: string
}

export const BASE_FILE = new URL('base-packages.json', import.meta.url)

/** The packages of an image, sorted by name. */
export function basePackages(base: 'runtime' | 'tools', architecture: Architecture): readonly BasePackage[] {
  const pinned = JSON.parse(readFileSync(BASE_FILE, 'utf8')) as BasePackages
  const sets = base === 'tools' ? [pinned.runtime, pinned.tools] : [pinned.runtime]
  return sets.flatMap((set) => set[architecture] ?? [])
}

/** The time of the snapshot of Debian's archives that has the packages, such as `20261129T163529Z`. */
export function readSnapshot(): string {
  return (JSON.parse(readFileSync(BASE_FILE, 'utf8')) as BasePackages).snapshot
}
