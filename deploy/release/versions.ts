// Compares the versions of the files of a release, and finds the section of the changelog.

export interface VersionedFiles {
  /** The version in package.json, which all others must have. */
  readonly version: string
  /** The version in package-lock.json. */
  readonly locked: string
  readonly chart: { readonly version: string; readonly appVersion: string }
  /** The text of CHANGELOG.md. */
  readonly changelog: string
}

const HEADING = /^## \[?v?(\d[^\s\]]*)/

/** One sentence for each file with another version. */
export function versionProblems({ version, locked, chart, changelog }: VersionedFiles): readonly string[] {
  const fields = [
    ['package-lock.json: version', locked],
    ['deploy/chart/Chart.yaml: version', chart.version],
    ['deploy/chart/Chart.yaml: appVersion', chart.appVersion],
  ] as const
  const different = fields
    .filter(([, found]) => found !== version)
    .map(([field, found]) => `${field}: found "${found}", expected "${version}" as in package.json`)
  if (changelogSection(changelog, version) !== undefined) return different
  const found = changelog.split('\n').flatMap((line) => HEADING.exec(line)?.[1] ?? [])
  return [
    ...different,
    `CHANGELOG.md: found ${found.length === 0 ? 'no sections' : `sections of ${found.join(', ')}`}, expected a section "## ${version}" with text`,
  ]
}

/** The text below the heading of the version, up to the next version. Undefined without a heading or without text. */
export function changelogSection(changelog: string, version: string): string | undefined {
  const lines = changelog.split('\n')
  const start = lines.findIndex((line) => HEADING.exec(line)?.[1] === version)
  if (start < 0) return undefined
  const rest = lines.slice(start + 1)
  const end = rest.findIndex((line) => line.startsWith('## '))
  const text = rest.slice(0, end < 0 ? undefined : end).join('\n').trim()
  return text === '' ? undefined : text
}
