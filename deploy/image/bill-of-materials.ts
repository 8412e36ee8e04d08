// The software in an image: a bill of materials in SPDX 2.3, and the list of licences. Licence texts are next to the packages:
// in /opt/pawl/node_modules/NAME, /usr/share/doc/NAME/copyright and /usr/share/doc/node/LICENSE.

import type { NpmPackage } from './application.ts'
import type { Architecture, BasePackage } from './base-packages.ts'
import { digestOf } from './file-tree.ts'
import type { Release } from './oci-layout.ts'

export interface Contents {
  readonly variant: string
  readonly architecture: Architecture
  readonly node: string
  readonly npm: readonly NpmPackage[]
  readonly debian: readonly BasePackage[]
}

interface SpdxPackage {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly purl: string
  readonly sha256?: string
}

/** SPDX 2.3 as JSON text. It depends on the contents and the commit only. */
export function spdxOf(contents: Contents, release: Release): string {
  const packages = packagesOf(contents, release)
  const name = `pawl-${release.version}-${contents.variant}-${contents.architecture}`
  const document = {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name,
    documentNamespace: `https://pawl.dev/spdx/${name}-${digestOf(Buffer.from(JSON.stringify(packages))).slice('sha256:'.length)}`,
    creationInfo: { created: new Date(release.time * 1000).toISOString().replace('.000', ''), creators: ['Tool: pawl-image'] },
    packages: packages.map(({ name, version, license, purl, sha256 }, at) => ({
      SPDXID: `SPDXRef-Package-${at}`,
      name,
      versionInfo: version,
      downloadLocation: 'NOASSERTION',
      filesAnalyzed: false,
      licenseConcluded: 'NOASSERTION',
      licenseDeclared: license,
      copyrightText: 'NOASSERTION',
      ...(sha256 !== undefined && { checksums: [{ algorithm: 'SHA256', checksumValue: sha256 }] }),
      externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: purl }],
    })),
    relationships: packages.map((_, at) =>
      at === 0
        ? { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: 'SPDXRef-Package-0' }
        : { spdxElementId: 'SPDXRef-Package-0', relationshipType: 'CONTAINS', relatedSpdxElement: `SPDXRef-Package-${at}` },
    ),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** One line for each package: name, version, licence, and where the text of the licence is in the image. */
export function licenceList(contents: Contents): string {
  const npm = contents.npm.map(({ folder, name, version, license }) => `${name} ${version}\t${license}\t/opt/pawl/node_modules/${folder}`)
  const debian = contents.debian.map(({ name, version }) => `${name} ${version}\tsee text\t/usr/share/doc/${name}/copyright`)
  const node = `node ${contents.node}\tMIT and others\t/usr/share/doc/node/LICENSE`
  return `${['pawl\tApache-2.0\t/opt/pawl/LICENSE', node, ...npm, ...debian].join('\n')}\n`
}

function packagesOf({ architecture, node, npm, debian }: Contents, release: Release): readonly SpdxPackage[] {
  return [
    { name: 'pawl', version: release.version, license: 'Apache-2.0', purl: `pkg:npm/pawl@${release.version}` },
    { name: 'node', version: node, license: 'NOASSERTION', purl: `pkg:generic/node@${node}` },
    ...npm.map(({ name, version, license }) => ({ name, version, license, purl: npmPurl(name, version) })),
    ...debian.map(({ name, version, sha256 }) => ({
      name,
      version,
      sha256,
      license: 'NOASSERTION',
      purl: `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`,
    })),
  ]
}

function npmPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}
