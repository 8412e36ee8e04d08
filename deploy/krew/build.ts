// Makes the krew plugin for the platform of this machine: `node deploy/krew/build.ts FOLDER URL` writes
// FOLDER/kubectl-pawl-VERSION-OS-ARCH.tar.gz, which you upload to URL, and FOLDER/pawl.yaml, the manifest for it.
//
//   K1. The archive has the npm package and its dependencies, with the versions of package-lock.json. It has no Node:
//       the plugin needs Node 24 on the PATH.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { packPlugin, pluginManifest } from './plugin.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

const [folder, url] = process.argv.slice(2)
if (folder === undefined || url === undefined || !/^https?:\/\/./.test(url)) {
  process.stderr.write('usage: node deploy/krew/build.ts FOLDER URL, such as dist https://files.example.com/pawl\n')
  process.exit(2)
}
const [os, arch] = [process.platform, ARCHITECTURES[process.arch] ?? process.arch]
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
const archive = join(resolve(folder), `kubectl-pawl-${version}-${os}-${arch}.tar.gz`)
const manifest = join(resolve(folder), 'pawl.yaml')

mkdirSync(folder, { recursive: true })
const stage = mkdtempSync(join(tmpdir(), 'pawl-krew-'))
try {
  const content = join(stage, 'pawl')
  mkdirSync(content)
  run('node', join(ROOT, 'deploy/package/build.ts'), stage)
  run('tar', '-xzf', join(stage, `pawl-${version}.tgz`), '-C', content, '--strip-components=1')
  installDependencies(content)
  packPlugin(content, archive)
} finally {
  rmSync(stage, { recursive: true })
}
writeFileSync(manifest, pluginManifest({ version, os, arch, archive, url }))
process.stdout.write(`${archive}\n${manifest}\n`)

/** npm needs the package.json that the lock file belongs to. The published one has other fields. */
function installDependencies(content: string): void {
  const project = join(stage, 'project')
  mkdirSync(project)
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(ROOT, file), join(project, file))
  run('npm', 'ci', '--omit=dev', '--omit=peer', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', project)
  run('mv', join(project, 'node_modules'), content)
  // The installation scripts, which would obtain Node, have not run.
  rmSync(join(content, 'node_modules/node'), { recursive: true, force: true })
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}
