package runner

import "context"

// About is what an engine says of itself.
type About struct {
	Version string // "20.10.24"
	API     string // the newest that it speaks: "1.41"
}

// About asks the engine who it is. Its error is that of Ping.
func (d *Docker) About(ctx context.Context) (About, error) {
	v, err := d.engine.ServerVersion(ctx)
	if err != nil {
		return About{}, d.explain(err)
	}
	return About{v.Version, v.APIVersion}, nil
}

// HasImage returns nil if the engine has the image of the settings, else an
// error with what to do, ErrImage if it is only missing.
func (d *Docker) HasImage(ctx context.Context) error {
	_, err := d.imageID(ctx)
	return err
}

// imageID is the id of the image that the settings name. Its error is that of
// HasImage.
func (d *Docker) imageID(ctx context.Context) (string, error) {
	img, err := d.engine.ImageInspect(ctx, d.settings.image())
	return img.ID, d.explainImage(err)
}

// Unfiltered says why containers on the isolated network reach nothing at all,
// not even the internet; "" if they can be let out and be held back from the
// host.
func (d *Docker) Unfiltered() string { return d.firewall.unusable() }
