// The pinned version of each server binary and its sources. Data: deploy/binaries/pins.json.

import { readFileSync } from 'node:fs'

/**
 * `temporal` is the development server; `temporal-server` and `temporal-sql-tool` are Temporal's real server, fetched
 * only when needed. `registry` (an OCI registry), `ocm` (creates components) and `helm`
 * (installs the chart) are for tests.
 */
export type BinaryName =
  | 'etcd'
  | 'helm'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kwok'
  | 'ocm'
  | 'registry'
  | 'temporal'
  | 'temporal-server'
  | 'temporal-sql-tool'

export interface Checksums {
  /**
   * `bare`: the file is the digest; `list`: lines of digest and file name; `github`: the release's description contains
   * each asset's digest.
   */
  readonly kind: 'bare' | 'list' | 'github'
  readonly algorithm: 'sha256' | 'sha512'
  readonly url: string
}

export interface Pin {
  readonly version: string
  /** Arguments that print the version; default `--version`. */
  readonly versionArguments?: readonly string[]
  /** A regular expression that the printed version must match. */
  readonly fits: string
  readonly go: { readonly module: string; readonly package: string; readonly ldflags?: string }
  readonly download: {
    readonly url: string
    /** Path of the binary when the artefact is a tar archive. */
    readonly member?: string
    readonly platforms: readonly string[]
    /** Known digests by platform; they take precedence over the published list. */
    readonly digests?: Readonly<Record<string, string>>
    readonly checksums: Checksums
  }
}

export type Pins = Readonly<Record<BinaryName, Pin>>

/** Folder of the pins and of the Go modules. */
export const BINARIES_DIR = new URL('../../deploy/binaries/', import.meta.url)

/** Reads the pins of this checkout. */
export function readPins(): Pins {
  return JSON.parse(readFileSync(new URL('pins.json', BINARIES_DIR), 'utf8')) as Pins
}

/** The platform in Go's notation, such as `linux-amd64`. */
export function platform(): { os: string; arch: string; key: string } {
  const os: string = process.platform
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  return { os, arch, key: `${os}-${arch}` }
}

/** Replaces `{os}` and `{arch}`. */
export function forPlatform(template: string): string {
  const { os, arch } = platform()
  return template.replaceAll('{os}', os).replaceAll('{arch}', arch)
}
