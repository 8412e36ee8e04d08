// The krew plugin: its archive and its manifest. The content is a small folder; the build script adds the package.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { packPlugin, pluginManifest } from '../../deploy/krew/plugin.ts'

let folder: string
const archive = () => join(folder, 'kubectl-pawl-1.2.3-linux-amd64.tar.gz')

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-krew-test-'))
  writeContent(join(folder, 'content'))
  packPlugin(join(folder, 'content'), archive())
})
afterAll(() => {
  rmSync(folder, { recursive: true })
})

function writeContent(root: string): void {
  for (const path of ['worker', 'node_modules/.bin', 'node_modules/a/node_modules/.bin'])
    mkdirSync(join(root, path), { recursive: true })
  writeFileSync(join(root, 'worker/pawl.js'), '#!/usr/bin/env node\n')
  chmodSync(join(root, 'worker/pawl.js'), 0o755)
  writeFileSync(join(root, 'node_modules/a/index.js'), '')
  symlinkSync('../a/index.js', join(root, 'node_modules/.bin/a'))
  symlinkSync('../../index.js', join(root, 'node_modules/a/node_modules/.bin/a'))
}

describe('the archive of the krew plugin', () => {
  it('has no symbolic links, because krew rejects them, and keeps the command executable', () => {
    const lines = execFileSync('tar', ['-tvzf', archive()], { encoding: 'utf8' }).trim().split('\n')
    expect(lines.filter((line) => line.startsWith('l'))).toEqual([])
    expect(lines.find((line) => line.endsWith('./worker/pawl.js'))).toMatch(/^-rwxr-xr-x 0\/0 /)
    expect(lines.filter((line) => line.endsWith('./node_modules/a/index.js'))).toHaveLength(1)
  })

  it('has the same bytes for the same content', () => {
    const again = join(folder, 'again')
    writeContent(again)
    utimesSync(join(again, 'worker/pawl.js'), 1, 1)
    packPlugin(again, join(folder, 'again.tar.gz'))
    expect(readFileSync(join(folder, 'again.tar.gz')).equals(readFileSync(archive()))).toBe(true)
  })
})

describe('the manifest of the krew plugin', () => {
  it('has the version, the platform, and URL and checksum of the archive', () => {
    const release = { version: '1.2.3', os: 'linux', arch: 'amd64', archive: archive(), url: 'https://example.com/p/' }
    expect(parse(pluginManifest(release))).toMatchObject({
      kind: 'Plugin',
      metadata: { name: 'pawl' },
      spec: {
        version: 'v1.2.3',
        platforms: [
          {
            selector: { matchLabels: { os: 'linux', arch: 'amd64' } },
            uri: 'https://example.com/p/kubectl-pawl-1.2.3-linux-amd64.tar.gz',
            sha256: createHash('sha256').update(readFileSync(archive())).digest('hex'),
            bin: 'worker/pawl.js',
          },
        ],
      },
    })
  })
})
