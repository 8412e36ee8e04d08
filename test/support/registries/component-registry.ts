// Writes component registries on disk for tests: folders with component descriptors in both schemas and their blobs, in
// the layout of a worker's local registry folder.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

type Files = Readonly<Record<string, string | Buffer>>

export const BLUEPRINT_TYPE = 'landscaper.gardener.cloud/blueprint'
export const LAYER = 'application/vnd.gardener.landscaper.blueprint.layer.v1.tar'

/** Rejects: for tests whose components need no OCI registry. */
export const noRegistries = () =>
  Promise.reject(new Error('found a question for a registry, expected none in this test'))

export interface RegistryStage {
  readonly folder: string
  /** Writes files below the folder. */
  write(files: Files): void
  remove(): void
}

export function newRegistry(files: Files = {}): RegistryStage {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-registry-'))
  const write = (more: Files) => {
    writeFiles(folder, more)
  }
  write(files)
  return { folder, write, remove: () => rmSync(folder, { recursive: true }) }
}

function writeFiles(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    const place = join(folder, path)
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, content)
  }
}

/** A tar archive of these files, created by the system's `tar` command. */
export function tarOf(files: Files, ...flags: readonly string[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-tar-'))
  try {
    writeFiles(folder, files)
    return execFileSync('tar', ['-C', folder, ...flags, '-c', '.'], { maxBuffer: 64 * 1024 * 1024 })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export interface Entry {
  readonly name: string
  readonly [field: string]: unknown
}

export const blob = (name: string, type: string, localReference = name, mediaType = LAYER): Entry => ({
  name,
  type,
  version: 'v1.0.0',
  relation: 'local',
  access: { type: 'localBlob', localReference, mediaType },
})

export const reference = (name: string, componentName: string, version: string, more: object = {}): Entry => ({
  name,
  componentName,
  version,
  ...more,
})

export interface Contents {
  readonly resources?: readonly Entry[]
  readonly references?: readonly Entry[]
  readonly repositoryContexts?: readonly object[]
}

export function descriptorV2(name: string, version: string, contents: Contents = {}) {
  const { resources = [], references = [], repositoryContexts = [] } = contents
  return {
    meta: { schemaVersion: 'v2' },
    component: {
      name,
      version,
      provider: 'acme',
      repositoryContexts,
      sources: [],
      resources,
      componentReferences: references,
    },
  }
}

export function descriptorV3(name: string, version: string, contents: Contents = {}) {
  const { resources = [], references = [], repositoryContexts = [] } = contents
  return {
    apiVersion: 'ocm.software/v3alpha1',
    kind: 'ComponentVersion',
    metadata: { name, version, provider: { name: 'acme' } },
    repositoryContexts,
    spec: { resources, references, sources: [] },
  }
}
