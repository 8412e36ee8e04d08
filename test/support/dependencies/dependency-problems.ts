// Checks package.json and package-lock.json against the rules of SECURITY.md.
//
//   D1. A dependency of package.json has an exact version.
//   D2. A locked package has an integrity and no download address.
//   D3. A locked package has a permitted licence. Development tools, which Pawl does not distribute, may have more.
//   D4. A locked package with an install script is in allowScripts.

import { licenceOf, type LockedPackage, type LockedPackages } from '../../../worker/gen/licence-page.ts'

const LICENCES = [
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'CC0-1.0', 'ISC', 'MIT', 'Unlicense'],
  // Argparse, and the data of caniuse-lite.
  ...['PSF-2.0', 'CC-BY-4.0'],
]
const TOOL_LICENCES = [...LICENCES, 'MPL-2.0']
const EXACT = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/
const DEPENDENCIES = ['dependencies', 'devDependencies', 'peerDependencies', 'overrides'] as const

type Versions = Readonly<Record<string, string>>

export type Manifest = Readonly<Partial<Record<(typeof DEPENDENCIES)[number], Versions>>> & {
  readonly allowScripts?: Readonly<Record<string, boolean>>
}

export interface ScriptedPackage extends LockedPackage {
  readonly hasInstallScript?: true
}

/** One sentence for each problem. */
export function dependencyProblems(manifest: Manifest, packages: LockedPackages): readonly string[] {
  const versions = DEPENDENCIES.flatMap((field) =>
    Object.entries(manifest[field] ?? {}).flatMap(([name, version]) =>
      EXACT.test(version) ? [] : [`package.json: ${field}.${name}: found "${version}", expected an exact version`],
    ),
  )
  const locked = Object.entries(packages).filter(([folder]) => folder !== '')
  return [
    ...versions,
    ...locked.flatMap(([folder, found]) => packageProblems(folder, found, manifest.allowScripts ?? {})),
  ]
}

function packageProblems(folder: string, locked: ScriptedPackage, allowed: object): readonly string[] {
  const problem = (field: string, found: string, expected: string) =>
    `package-lock.json: ${folder}: ${field}: found ${found}, expected ${expected}`
  const { integrity = '', resolved, dev, hasInstallScript } = locked
  const name = folder.replace(/^.*node_modules\//, '')
  const licences = dev === true ? TOOL_LICENCES : LICENCES
  const licence = licenceOf(folder, locked)
  return [
    ...(integrity.startsWith('sha512-') ? [] : [problem('integrity', `"${integrity}"`, 'a SHA-512')]),
    ...(resolved === undefined ? [] : [problem('resolved', `"${resolved}"`, 'no download address')]),
    ...(licence.split(' AND ').every((one) => licences.includes(one))
      ? []
      : [problem('license', `"${licence}"`, `one of ${licences.join(', ')}`)]),
    ...(hasInstallScript === true && !(name in allowed)
      ? [problem('hasInstallScript', 'true', `allowScripts.${name} in package.json`)]
      : []),
  ]
}
