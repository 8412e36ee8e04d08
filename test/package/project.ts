// A project outside of the checkout that has installed the package. Without a network: the tarball is unpacked as npm does it, and what the
// package depends on, nothing else, is linked from the checkout.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { builtPackage } from '../support/package/built-package.ts'

const ROOT = join(import.meta.dirname, '../..')
// Development dependencies in addition to Pawl. The tutorial needs croner.
const TOOLS = ['typescript', 'vitest', '@types/node', 'croner']

export interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>
  readonly bin: Readonly<Record<string, string>>
}

export interface Project {
  readonly dir: string
  /** The folder of the installed package. */
  readonly pawl: string
  readonly manifest: Manifest
  /** Runs a command of Node in the project's folder; `bin` is below node_modules. */
  run(bin: string, ...args: readonly string[]): { code: number | null; stdout: string; stderr: string }
  /** A project in a folder of this one, with the same packages. */
  below(folder: string): Project
  remove(): void
}

export async function createProject(): Promise<Project> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-installed-')))
  const pawl = join(dir, 'node_modules/pawl')
  mkdirSync(pawl, { recursive: true })
  must('tar', ['-xzf', await builtPackage(), '--strip-components=1', '-C', pawl])
  const manifest = manifestOf(pawl)
  for (const name of Object.keys(manifest.dependencies)) link(name, join(pawl, 'node_modules'))
  for (const name of TOOLS) link(name, join(dir, 'node_modules'))
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ name: 'mine', private: true, type: 'module' }))
  return projectIn(dir, pawl, manifest)
}

function projectIn(dir: string, pawl: string, manifest: Manifest): Project {
  return {
    dir,
    pawl,
    manifest,
    run: (bin, ...args) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [join(dir, 'node_modules', bin), ...args], {
        cwd: dir,
        encoding: 'utf8',
        timeout: 90_000,
      })
      return { code: status, stdout, stderr }
    },
    below: (folder) => {
      const own = join(dir, folder)
      mkdirSync(own)
      symlinkSync(join(dir, 'node_modules'), join(own, 'node_modules'))
      return projectIn(own, pawl, manifest)
    },
    remove: () => rmSync(dir, { recursive: true }),
  }
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

function link(name: string, folder: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules', name), join(folder, name))
}

function must(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ended with ${String(status)}: ${error?.message ?? stderr}`)
}
