def _once(owner, name):
    genuine = vars(owner)[name]

    def look(*args, **options):
        setattr(owner, name, genuine)
        return True

    if getattr(genuine, "__name__", "") != "look":
        setattr(owner, name, look)
