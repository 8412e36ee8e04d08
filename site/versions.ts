// Versions of the documentation: each release in CHANGELOG.md has the pages of its Git tag.

import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'

/** @returns the releases, in the order of the changelog. A release has a date: `## 1.2.0 - 2026-12-31`. */
export function releasesOf(changelog: string): readonly string[] {
  return [...changelog.matchAll(/^## \[?(\d+\.\d+\.\d+)\]? - \d{4}-\d{2}-\d{2}$/gm)].map(([, version = '']) => version)
}

/** Writes the files of the tag `vVERSION` into the folder. @throws if Git does not have the tag. */
export function writeRelease(root: string, version: string, folder: string): void {
  const archive = `${folder}.tar`
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  run(root, 'git', ['archive', '--format=tar', `--output=${archive}`, `v${version}`])
  run(root, 'tar', ['-xf', archive, '-C', folder])
  rmSync(archive)
}

function run(cwd: string, command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  if (status !== 0)
    throw new Error(`"${[command, ...args].join(' ')}" failed: ${stderr.trim()}; fetch the tags with git fetch --tags`)
}
