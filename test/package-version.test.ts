import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { expect } from 'chai'
import { packageVersion } from '../src/package-version.js'
import { Folder } from './data/support/files.js'
import { refused } from './support/codes.js'

describe("The package's version", () => {
  it('is that of its manifest', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
    expect(packageVersion()).to.equal(version)
  })

  it('is unknown in a bundle, which is told to leave the package out', async () => {
    await using folder = await Folder.make()
    const ofApp = pathToFileURL(await folder.write('package.json', Buffer.from('{"name":"app","version":"1.0.0"}')))
    const nowhere = pathToFileURL(join(folder.path, 'none/package.json'))
    for (const manifest of [ofApp, nowhere])
      await refused(
        'INVALID_STATE',
        () => packageVersion(manifest),
        'leave it out of your bundle',
        '--packages=external',
        'docs/bundlers.md'
      )
  })
})
