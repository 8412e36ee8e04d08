// The archive and the manifest of the krew plugin.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'

import { writeYaml } from '../../activities/yaml/write-yaml.ts'

export interface PluginRelease {
  readonly version: string
  /** The platform by krew's names, such as linux and amd64. */
  readonly os: string
  readonly arch: string
  /** The path of the archive. */
  readonly archive: string
  /** The URL of the folder with the archive. */
  readonly url: string
}

/** Packs the folder. The same content results in the same bytes. Needs GNU tar and gzip. */
export function packPlugin(content: string, archive: string): void {
  removeLinks(join(content, 'node_modules'))
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  execFileSync('tar', [...same, '-I', 'gzip -9n', '-cf', archive, '-C', content, '.'])
}

/** krew rejects an archive with symbolic links, which only the folders `.bin` have. */
function removeLinks(modules: string): void {
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory() && entry.name === '.bin') rmSync(join(entry.parentPath, entry.name), { recursive: true })
}

/** @see https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/ */
export function pluginManifest({ version, os, arch, archive, url }: PluginRelease): string {
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex')
  const uri = `${url.replace(/\/$/, '')}/${basename(archive)}`
  const does = 'Shows the objects that Pawl reconciles, why a job failed or waits, and what a manifest would change'
  return writeYaml({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'pawl' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Explain and steer the jobs of Pawl',
      description: `${does}. Pauses, resumes, retries and deletes jobs.`,
      caveats: 'The plugin needs Node 24 or newer on the PATH.',
      platforms: [{ selector: { matchLabels: { os, arch } }, uri, sha256, bin: 'worker/pawl.js' }],
    },
  })
}
