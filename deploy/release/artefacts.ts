// The artefacts of a release that are files, and their checksums.

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { addFolder, type FileTree, layerOf } from '../image/file-tree.ts'

export interface Artefact {
  readonly name: string
  /** The path below the folder of the release. */
  readonly file: string
  readonly size: number
  readonly sha256: string
}

export function describeArtefact(out: string, name: string, file: string): Artefact {
  const bytes = readFileSync(join(out, file))
  return { name, file, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

/** Writes SHA256SUMS, which `sha256sum -c` reads. */
export function writeChecksums(out: string, artefacts: readonly Artefact[]): void {
  writeFileSync(join(out, 'SHA256SUMS'), artefacts.map(({ sha256, file }) => `${sha256}  ${file}\n`).join(''))
}

/** Packs the chart as `helm package` does: a folder with the chart's name. The same files and time give the same bytes. */
export async function packChart(chart: string, archive: string, { name, time }: { name: string; time: number }): Promise<void> {
  const tree: FileTree = new Map()
  await addFolder(tree, { folder: chart, at: name, accepts: () => true })
  const { bytes } = await layerOf(tree, { time, comment: 'chart' })
  mkdirSync(dirname(archive), { recursive: true })
  writeFileSync(archive, bytes)
}

/** Writes all YAML files below the folder as documents of one file, in the order of their paths. */
export function joinManifests(folder: string, file: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'))
  const texts = names.sort().map((name) => readFileSync(join(folder, name), 'utf8').replace(/^---\n/, ''))
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, texts.map((text) => `---\n${text.trimEnd()}\n`).join(''))
}

interface Descriptor {
  readonly digest: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** The digest of each tag of an OCI layout. */
export function imageTags(layout: string): readonly (readonly [tag: string, digest: string])[] {
  const { manifests } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
    readonly manifests: readonly Descriptor[]
  }
  return manifests.map(({ digest, annotations }) => [annotations?.['org.opencontainers.image.ref.name'] ?? '', digest])
}
